package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// foreignAnnotation lists the foreign conditions of an object in the cache.
const foreignAnnotation = "gatehouse.example.com/foreign-conditions"

// MarkForeign marks conditions of the given types that another field manager owns, on an object in
// the cache. Apply removes them.
func MarkForeign(object metav1.Object, managers []metav1.ManagedFieldsEntry, types []string) {
	annotations := maps.Clone(object.GetAnnotations())
	delete(annotations, foreignAnnotation) // a person may have written it
	foreign := slices.DeleteFunc(slices.Clone(types), func(conditionType string) bool {
		key := fmt.Sprintf(`"k:{\"type\":\"%s\"}"`, conditionType)
		return !isOwned(managers, false, key)
	})
	if len(foreign) > 0 {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[foreignAnnotation] = strings.Join(foreign, " ")
	}
	object.SetAnnotations(annotations)
}

// IsForeign reports whether another field manager owns a field of a status, and the controllers do not.
func IsForeign(managers []metav1.ManagedFieldsEntry, field string) bool {
	key := fmt.Sprintf(`"f:%s":`, field)
	return isOwned(managers, false, key) && !isOwned(managers, true, key)
}

// isOwned reports whether the controllers, or other field managers, own a field.
func isOwned(managers []metav1.ManagedFieldsEntry, byControllers bool, key string) bool {
	return slices.ContainsFunc(managers, func(m metav1.ManagedFieldsEntry) bool {
		isOwn := m.Manager == string(FieldOwner) && m.Operation == metav1.ManagedFieldsOperationApply
		return isOwn == byControllers && m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), key)
	})
}

// foreignTypes returns the types of the foreign conditions of an object that content lacks.
func foreignTypes(object metav1.Object, content map[string]any) []string {
	return slices.DeleteFunc(strings.Fields(object.GetAnnotations()[foreignAnnotation]),
		func(conditionType string) bool {
			return hasType(content, conditionType)
		})
}

func hasType(content map[string]any, conditionType string) bool {
	conditions, _ := content["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(condition any) bool { return typeOf(condition) == conditionType })
}

func typeOf(condition any) string {
	fields, _ := condition.(map[string]any)
	conditionType, _ := fields["type"].(string)
	return conditionType
}

// withFalse returns content with added conditions of the given types, each False. Their other
// fields are copied from its first condition.
func withFalse(content map[string]any, types []string) map[string]any {
	conditions, _ := content["conditions"].([]any)
	if len(types) == 0 || len(conditions) == 0 {
		return content
	}
	all := slices.Clone(conditions)
	for _, conditionType := range types {
		condition := maps.Clone(conditions[0].(map[string]any))
		condition["type"] = conditionType
		condition["status"] = string(metav1.ConditionFalse)
		all = append(all, condition)
	}
	content = maps.Clone(content)
	content["conditions"] = all
	return content
}
